# Runs `command`, a fuzzer with a fault: it has to fail, to leave its input in `kept`, and to fail on that alone.
file(REMOVE ${kept} ${kept}.again)
execute_process(COMMAND ${command} -runs=100 -exact_artifact_path=${kept} RESULT_VARIABLE first ERROR_VARIABLE said)
execute_process(COMMAND ${command} -exact_artifact_path=${kept}.again ${kept} RESULT_VARIABLE again ERROR_VARIABLE repeated)
if(first EQUAL 0 OR again EQUAL 0 OR NOT EXISTS ${kept} OR NOT EXISTS ${kept}.again)
  message(FATAL_ERROR "it ended with ${first}, and on the input that it left with ${again}:\n${said}\n${repeated}")
endif()
# One input in eight has the fault, and the first has not.
execute_process(COMMAND ${command} -runs=1 -exact_artifact_path=${kept}.again RESULT_VARIABLE harmless
                OUTPUT_QUIET ERROR_QUIET)
if(NOT harmless EQUAL 0 OR EXISTS ${kept}.again)
  message(FATAL_ERROR "it ended with ${harmless} on an input without the fault, expected 0 and no input left")
endif()

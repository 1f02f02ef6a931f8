"""Make a case that shows a difference as small as it gets while it shows the same one."""

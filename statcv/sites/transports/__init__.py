"""What carries messages between the coordinator and the sites."""

"""Found by those who look for the folder; imports get ``sardonyx.capi``."""

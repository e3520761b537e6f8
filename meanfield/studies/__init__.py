"""Many runs and what they say together: particle systems against their mean-field limit."""

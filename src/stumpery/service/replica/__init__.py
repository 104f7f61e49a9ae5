"""Replicas: state machines that apply the event log in order, with equal bits everywhere."""

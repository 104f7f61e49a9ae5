"""Formats of logs: dsjson, Vowpal Wabbit's text, tables, our own."""

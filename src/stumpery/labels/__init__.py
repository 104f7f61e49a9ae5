"""Labels and sample weights: validation and encoding, the same for every model.

`checked_*` give the values in the form that models take, or raise a ValueError that says what came and what is allowed.

| module | values |
|---|---|
| `binary` | clicks: 0 or 1 |
| `classes` | classes of any name, encoded in the order of their arrival |
| `known_classes` | classes out of a given set |
| `class_codes` | classes that are whole numbers from 0 |
| `numbers` | targets of a regression |
| `weights` | weights of rows, or how often a row counts |
"""

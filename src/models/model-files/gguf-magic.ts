import { open } from 'node:fs/promises'
import { ModelFileError } from './model-file-error.ts'

const MAGIC = Buffer.from('GGUF')

/** Throws where these first bytes of a file are not those of a GGUF file. */
export function requireMagic(head: Uint8Array): void {
  if (MAGIC.equals(head.subarray(0, MAGIC.length))) return
  const seen = JSON.stringify(Buffer.from(head.subarray(0, 16)).toString('latin1'))
  throw new ModelFileError(
    `This is not a GGUF file: it begins with ${seen}. Get the model in GGUF form, and by the address of the file itself.`,
    { usage: true },
  )
}

/** The same of a file. */
export async function requireGguf(file: string): Promise<void> {
  const handle = await open(file, 'r')
  try {
    const head = Buffer.alloc(16)
    const { bytesRead } = await handle.read(head, 0, head.length, 0)
    requireMagic(head.subarray(0, bytesRead))
  } finally {
    await handle.close()
  }
}

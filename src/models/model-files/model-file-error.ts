/** A model file that could not be had. The message says why and what to do. */
export class ModelFileError extends Error {
  /** Whether the request itself cannot be met: no such file, not a GGUF file, a name that is taken. */
  readonly usage: boolean

  constructor(message: string, { usage = false, ...rest }: ErrorOptions & { readonly usage?: boolean } = {}) {
    super(message, rest)
    this.name = 'ModelFileError'
    this.usage = usage
  }
}

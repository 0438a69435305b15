/** The command was called in a way that cannot work: said in a sentence, exit code 2. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UsageError'
  }
}

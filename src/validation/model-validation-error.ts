/** A test of a model that cannot be recorded, or a file of such tests that cannot be used. */
export class ModelValidationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ModelValidationError'
  }
}

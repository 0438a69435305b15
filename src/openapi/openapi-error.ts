/** A document that cannot be imported at all; the message says why and what to do. */
export class OpenapiError extends Error {
  override readonly name: string = 'OpenapiError'
}

/** What was asked for is not in the document. */
export class NotInDocument extends OpenapiError {
  override readonly name = 'NotInDocument'
}

/** One operation, or a part of it, that cannot be mapped; the message is the reason, as a clause. */
export class Unmappable extends Error {
  override readonly name = 'Unmappable'
}

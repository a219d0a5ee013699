/** @module A failure that is the model's to deal with. */

/** To be thrown by a tool: its text is the answer to the model, the call is on record as failed, and nothing is retried or rolled back. */
export class ToolError extends Error {
  readonly code = 'tool-error'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ToolError'
  }
}

/** Also as the record gives it back on resume and replay. */
export function isToolError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ToolError'
}

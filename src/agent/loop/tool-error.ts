/** @module A failure that is the model's to deal with. */

/**
 * To be thrown by a tool: its text is the answer to the model, the call is on record as failed, and nothing is retried or rolled back.
 * @example
 * ```ts
 * import { agent, open, ScriptedModel, ToolError } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const book = cs.tool({
 *   name: 'book',
 *   execute: async ({ city }: { city: string }): Promise<string> => {
 *     throw new ToolError(`no hotel in ${city} has a room`)
 *   },
 * })
 * const model = new ScriptedModel([{ tool: 'book', args: { city: 'Oslo' } }, 'There is no room in Oslo.'])
 * const booker = agent({ model, tools: [{ tool: book, parameters: { type: 'object' } }] })
 * const { messages } = await cs.run({ name: 'trip' }, async () => booker.generate({ prompt: 'Book a room in Oslo.' }))
 * console.log(messages.some((message) => message.role === 'tool' && message.isError))
 * ```
 */
export class ToolError extends Error {
  readonly code: string = 'tool-error'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ToolError'
  }
}

/**
 * Nobody approved the call in time (`approval-expired`), or somebody denied it (`approval-denied`): it did not run. For a model it is an answer, like every
 * `ToolError`; the message has the comment.
 * @example
 * ```ts
 * import { ApprovalDenied, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const pay = cs.tool(async (cents: number) => `paid ${cents}`, { name: 'pay', approve: { when: 'args[0] > 1000', expiresMs: 1_000 } })
 * const orElse = (error: unknown) => (error instanceof ApprovalDenied ? error.code : 'something else')
 * console.log(await cs.run({ name: 'order' }, async () => pay(5_000).catch(orElse))) // approval-expired
 * ```
 */
export class ApprovalDenied extends ToolError {
  override readonly code: 'approval-denied' | 'approval-expired'
  readonly approvalId: string

  constructor(message: string, of: Pick<ApprovalDenied, 'code' | 'approvalId'>) {
    super(message)
    this.code = of.code
    this.approvalId = of.approvalId
  }
}

/**
 * A tool ran, and its result is too large to be recorded: an answer for its caller, who may ask for less. It is recorded as what it is, a
 * success whose result is not there; a rollback undoes the call.
 * @example
 * ```ts
 * import { open, ResultTooLarge } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const dump = cs.tool(async (bytes: number) => 'x'.repeat(bytes), { name: 'dump', compensate: 'not-needed' })
 * const length = await cs.run({ name: 'report' }, async () => {
 *   const all = await dump(20_000_000).catch((error: unknown) => (error instanceof ResultTooLarge ? dump(1_000) : Promise.reject(error)))
 *   return all.length
 * })
 * console.log(length) // 1000
 * ```
 */
export class ResultTooLarge extends ToolError {
  constructor(tool: string, reason: string) {
    super(`${tool} ran, and its result is too large to be recorded (${reason}): ask for less`)
  }
}

/** Its code. */
export const TIMED_OUT = 'tool-timed-out'

/**
 * A tool without effects (`effects: 'none'`) gave no result in time, its retries included (`tool-timed-out`): an answer for its caller, and for a model.
 * @example
 * ```ts
 * import { open, ToolTimedOut } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const look = cs.tool(() => new Promise<string>(() => {}), { name: 'look', effects: 'none', timeout: 20, retries: 0 })
 * const orElse = (error: unknown) => (error instanceof ToolTimedOut ? error.code : 'something else')
 * console.log(await cs.run({ name: 'order' }, async () => look().catch(orElse))) // tool-timed-out
 * ```
 */
export class ToolTimedOut extends ToolError {
  override readonly code = TIMED_OUT

  /** Of a tool whose last try ended so. */
  static of(tool: string, cause: Error): ToolTimedOut {
    return new ToolTimedOut(`${tool} gave ${cause.message}: it changes nothing, and may be called again`, { cause })
  }
}

/** It may be tried again, live and as the record gives it back alike. */
export function isTimedOut(error: unknown): boolean {
  return isToolError(error) && 'code' in error && error.code === TIMED_OUT
}

/** Also as the record gives it back on resume and replay. */
export function isToolError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ToolError'
}

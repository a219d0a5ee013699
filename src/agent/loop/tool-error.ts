/** @module Errors that are returned to the model as the result of a call. */

/**
 * Thrown by a tool to answer the model with its message: the call is recorded as failed, and nothing is retried or rolled back.
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
 * The approval of a call expired (`approval-expired`) or was denied (`approval-denied`), so the call did not run. Like every `ToolError` it is returned to the
 * model; its message includes the approver's comment.
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
 * A tool ran, but its result is too large to be recorded; the caller may request less. The call is recorded as a success without a result, and a rollback
 * undoes it.
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

/** Error code of `ToolTimedOut`. */
export const TIMED_OUT = 'tool-timed-out'

/**
 * A tool without effects (`effects: 'none'`) gave no result in time, including all retries (`tool-timed-out`). The error is returned to the caller and to a
 * model.
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

  /** The error for a tool whose last attempt timed out. */
  static of(tool: string, cause: Error): ToolTimedOut {
    return new ToolTimedOut(`${tool} gave ${cause.message}: it changes nothing, and may be called again`, { cause })
  }
}

/** Whether the error is a timeout, which may be retried. Recognises live errors and errors restored from the record. */
export function isTimedOut(error: unknown): boolean {
  return isToolError(error) && 'code' in error && error.code === TIMED_OUT
}

/** Recognises live errors and errors that a resume or replay restores from the record. */
export function isToolError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ToolError'
}

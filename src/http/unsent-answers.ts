/** @module Answers that are made and lie in memory until their reader has taken them: counted, so that readers who do not read are bounded. */
import type { MemoryAccount } from '../resources/memory-account.ts'
import type { EdgeContext } from './edge-context.ts'

/** Smaller ones fit into the buffers that every connection has. */
const COUNTED_FROM_CHARS = 4 * 1024

const chars = new WeakMap<Response, number>()

/** Remembers how long an answer is: a Response does not tell. */
export function ofLength(response: Response, length: number): Response {
  if (length >= COUNTED_FROM_CHARS) chars.set(response, length)
  return response
}

/** Counts an answer until its connection has taken it or is gone. */
export function countUnsent(account: MemoryAccount, c: EdgeContext, response: Response): void {
  const length = chars.get(response)
  const outgoing = c.env?.outgoing
  if (length === undefined || outgoing === undefined || outgoing.destroyed) return
  // As text and as bytes.
  outgoing.once('close', account.count(2 * length))
}

/** @module Reads that may walk through a whole run: they take a slot of the tenant, and end with the token, as a stream does. */

import { ReaderLeftError } from '../resources/work-queue.ts'
import { problemResponse } from './answers.ts'
import { bearerToken, tokenRefused } from './dispatch.ts'
import { NO_SLOT } from './open-stream.ts'
import type { RequestContext } from './route.ts'
import type { StreamKind } from './stream-slots.ts'

/** The result of `read`, or the refusal if the tenant has no slot left. */
export async function withSlot<T>(
  { c, deps, caller, path }: RequestContext,
  read: () => Promise<T>,
  kind: StreamKind = 'page',
): Promise<T | Response> {
  const release = deps.slots.acquire(caller.tenant, kind)
  if (typeof release === 'string') return problemResponse(NO_SLOT[release], path)
  let over = false
  const token = bearerToken(c.req.header('authorization')) ?? ''
  const unwatch = deps.liveTokens.watch({ token, expiresAt: caller.expiresAt }, () => {
    over = true
    caller.pace?.leave()
  })
  try {
    return await read()
  } catch (error) {
    if (over && error instanceof ReaderLeftError) return problemResponse(tokenRefused, path)
    throw error
  } finally {
    unwatch()
    release()
  }
}

/** @module A read that may walk through a whole run takes a slot of its tenant, as a stream does. */
import { problemResponse } from './answers.ts'
import { NO_SLOT } from './open-stream.ts'
import type { Ask } from './route.ts'

/** What `read` gives, or the refusal where the tenant has no slot left. */
export async function withSlot<T>({ edge, caller, path }: Ask, read: () => Promise<T>): Promise<T | Response> {
  const release = edge.slots.acquire(caller.tenant, 'page')
  if (typeof release === 'string') return problemResponse(NO_SLOT[release], path)
  try {
    return await read()
  } finally {
    release()
  }
}

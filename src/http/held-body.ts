/** @module Memory for the body of one request: its bytes from before they are read, what they become until the answer is made. */
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { EdgeContext } from './edge-context.ts'
import { problem } from './problems.ts'

/** What a body in hand becomes: text, values, canonical text, sealed records. Measured: 6 to 12 times its bytes. */
const AT_WORK_FACTOR = 12
/** A body without a length takes room in steps of so many bytes, the first before it is read. */
const STEP_BYTES = 64 * 1024

export const bodiesInFlight = problem('overloaded', 'the bodies of requests in flight leave no room for this one', {
  // The rest of the body would have to be read to keep the connection.
  headers: { connection: 'close' },
})

export interface HeldBody {
  /** What has come so far. */
  readonly bytes: number
  /** False where a body that did not say its length has grown beyond the room there is. */
  readonly grow: (bytes: number) => boolean
  /** To be awaited before a body of so many bytes is parsed. Who waits holds bytes that were read, and these are bounded. */
  readonly beforeWork: (bytes: number) => void | Promise<void>
  /** To be called when the answer is made. */
  readonly release: () => void
}

/** Undefined where the bodies in flight leave no room for this one: then nothing of it is read. */
export function holdBody(
  memory: MemoryBudget,
  { c, tenant, maxBytes }: { readonly c: EdgeContext; readonly tenant: string; readonly maxBytes: number },
): HeldBody | undefined {
  const account = memory.account('bodies-read')
  const read: (() => void)[] = []
  let room = 0
  const take = (bytes: number): boolean => {
    const release = account.take(bytes, tenant)
    if (release !== undefined) read.push(release)
    if (release !== undefined) room += bytes
    return release !== undefined
  }
  if (!take(declaredBytes(c, maxBytes) ?? Math.min(STEP_BYTES, maxBytes))) return undefined
  let work: (() => void) | undefined
  let over = false
  let came = 0
  const begin = (release: () => void): void => {
    work = release
    // The answer was made without the work: the connection ended, or the body was refused.
    if (over) release()
  }
  return {
    get bytes() {
      return came
    },
    grow: (bytes) => {
      came = bytes
      return bytes <= room || take(Math.max(STEP_BYTES, bytes - room))
    },
    beforeWork: (bytes) => {
      const free = memory.account('requests-at-work').whenFree(bytes * AT_WORK_FACTOR)
      return free instanceof Promise ? free.then(begin) : begin(free)
    },
    release: () => {
      over = true
      for (const release of read) release()
      work?.()
    },
  }
}

/** A body that says it is too large is refused by whoever reads it. */
function declaredBytes(c: EdgeContext, maxBytes: number): number | undefined {
  const declared = Number(c.req.header('content-length') ?? Number.NaN)
  if (Number.isNaN(declared)) return undefined
  return declared > maxBytes ? 0 : Math.max(0, declared)
}

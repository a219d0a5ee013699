/** @module The ledger behind HTTP. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { Client, CommandOptions, Recorded } from '../../client/client.ts'
import type { BatchItem } from '../../client/commands.ts'
import { codeOf, LedgerError } from '../../client/errors.ts'
import { ownProcess } from '../../resources/process-identity.ts'
import { type Connection, ownedBy, type Problem, type Reply, tracedItem } from './connection.ts'
import { traceparentHere } from './execution-context.ts'
import { linkedEvents, sealedEvents, tailedEvent } from './sealed-events.ts'

const CREATED = 201
const REFUSED = 400
/** What the server could not do is no refusal: it may do so later. */
const UNABLE = 500
const TOO_LARGE = 413
/** What one request may hold, and half of the bytes that a ledger takes unless its operator says otherwise. */
const BATCH_MAX_ITEMS = 256
const BATCH_MAX_BYTES = 4 * 1024 * 1024

export function httpConnection(client: Client, owner = ownProcess()): Connection {
  return {
    place: client.url,
    execute: (runId, command, { idempotencyKey, traceparent = traceparentHere() } = {}) =>
      replyTo(() => client.execute(runId, ownedBy(owner, command), commandOptions(idempotencyKey, traceparent))),
    batch: async (runId, commands) => {
      const items = commands.map(({ command, traceparent }) => tracedItem(runId, ownedBy(owner, command), traceparent))
      const replies: Reply[] = []
      for (const portion of portionsOf(items)) replies.push(...(await portionReplies(client, portion)))
      return replies
    },
    run: (runId) => client.run(runId),
    context: (runId) => client.context(runId),
    calls: (runId) => collect(client.calls(runId)),
    compensations: (runId) => client.compensations(runId),
    approvals: () => client.approvals(),
    approval: (runId, approvalId) => client.approval(runId, approvalId),
    value: (runId, digest) => client.value(runId, digest),
    budget: async (runId) => {
      const { nextCursor = null, ...document } = await client.budget(runId)
      return { ...document, ...(nextCursor !== null && { moreReservations: true }) }
    },
    events: (runId, type) =>
      type === undefined
        ? linkedEvents(runId, client.events(runId))
        : sealedEvents(runId, client.events(runId, { type })),
    runs: async function* (filter) {
      for await (const row of client.runs(filter)) yield String(row.runId)
    },
    runRows: (filter) => client.runs({ ...filter }),
    tail: async function* ({ runId, signal }) {
      for await (const record of client.tail(runId, { ...(signal && { signal }) })) yield tailedEvent(record)
    },
    exportRun: (runId) => client.exportRun(runId),
    [Symbol.asyncDispose]: async () => {},
  }
}

function commandOptions(idempotencyKey: string | undefined, traceparent: string | undefined): CommandOptions {
  return { ...(idempotencyKey !== undefined && { idempotencyKey }), ...(traceparent !== undefined && { traceparent }) }
}

/** As many items as one request may hold, by count and by bytes; at least one. */
function portionsOf(items: readonly BatchItem[]): readonly BatchItem[][] {
  const portions: BatchItem[][] = []
  let bytes = 0
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item))
    const portion = portions.at(-1)
    if (portion !== undefined && portion.length < BATCH_MAX_ITEMS && bytes + size <= BATCH_MAX_BYTES) {
      portion.push(item)
      bytes += size
    } else {
      portions.push([item])
      bytes = size
    }
  }
  return portions
}

/** What is too large for this ledger, or for what lies before it, goes in halves. A refusal of the whole request is that of each item: nothing of it was done. */
async function portionReplies(client: Client, items: readonly BatchItem[]): Promise<readonly Reply[]> {
  const [first, ...others] = items
  if (first === undefined) return []
  // Alone it may be as large as any value.
  if (others.length === 0) {
    const { runId, command, traceparent } = first
    return [await replyTo(() => client.execute(runId, command, commandOptions(undefined, traceparent)))]
  }
  try {
    return (await client.batch(items)).map(({ status, body }) => itemReply(status, body))
  } catch (error) {
    if (!(error instanceof LedgerError) || error.status >= UNABLE) throw error
    const { problem, status } = error
    if (status !== TOO_LARGE) return items.map(() => ({ ok: false, problem: problemOf(problem) }))
    const half = Math.ceil(items.length / 2)
    const one = await portionReplies(client, items.slice(0, half))
    return [...one, ...(await portionReplies(client, items.slice(half)))]
  }
}

async function replyTo<Body extends JsonObject>(ask: () => Promise<Recorded<Body>>): Promise<Reply<Body>> {
  try {
    const { created, body } = await ask()
    return { ok: true, created, body }
  } catch (error) {
    if (error instanceof LedgerError && error.status < UNABLE) return { ok: false, problem: problemOf(error.problem) }
    throw error
  }
}

function itemReply(status: number, body: JsonObject): Reply {
  if (status < REFUSED) return { ok: true, created: status === CREATED, body }
  return { ok: false, problem: problemOf(body) }
}

function problemOf(body: JsonObject): Problem {
  const { detail, retryAfterMs } = body
  return {
    code: codeOf(body),
    detail: String(detail ?? 'the ledger refused'),
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    evidence: body,
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

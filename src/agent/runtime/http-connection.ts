/** @module The connection to a ledger behind HTTP. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { BatchAnswer, Client, CommandOptions, Recorded } from '../../client/client.ts'
import type { BatchItem, Command } from '../../client/commands.ts'
import { codeOf, LedgerError } from '../../client/errors.ts'
import { ownProcess } from '../../resources/process-identity.ts'
import { type Connection, ownedBy, type Problem, type Reply, tracedItem } from './connection.ts'
import { traceparentHere } from './execution-context.ts'
import { linkedEvents, sealedEvents, tailedEvent } from './sealed-events.ts'

const CREATED = 201
const REFUSED = 400
/** From this status on, an error is a failure of the server instead of a refusal; a retry may succeed. */
const UNABLE = 500
const TOO_LARGE = 413
/** Limits of one batch request; the bytes are half of the ledger's default limit. */
const BATCH_MAX_ITEMS = 256
const BATCH_MAX_BYTES = 4 * 1024 * 1024

export function httpConnection(client: Client, owner = ownProcess()): Connection {
  return {
    place: client.url,
    execute: (runId, command, { idempotencyKey, traceparent = traceparentHere() } = {}) =>
      replyTo(command, () =>
        client.execute(runId, ownedBy(owner, command), commandOptions(idempotencyKey, traceparent)),
      ),
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
    due: (query, wait) => client.dueRuns(query, wait),
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

/** Splits items into portions that fit one request, by count and by bytes; each has at least one item. */
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

/**
 * Sends a portion, split in halves if it is too large for the ledger or a proxy. A refusal of the whole request applies to each item, since none was executed.
 */
async function portionReplies(client: Client, items: readonly BatchItem[]): Promise<readonly Reply[]> {
  const [first, ...others] = items
  if (first === undefined) return []
  // A single command may be as large as the largest value, so it is not sent as a batch.
  if (others.length === 0) {
    const { runId, command, traceparent } = first
    return [await replyTo(command, () => client.execute(runId, command, commandOptions(undefined, traceparent)))]
  }
  try {
    return (await client.batch(items)).map((answer, i) => itemReply(items[i]?.command, answer))
  } catch (error) {
    if (!(error instanceof LedgerError) || error.status >= UNABLE) throw error
    const { problem, status } = error
    if (status !== TOO_LARGE) return items.map(() => ({ ok: false, problem: problemOf(problem) }))
    const half = Math.ceil(items.length / 2)
    const one = await portionReplies(client, items.slice(0, half))
    return [...one, ...(await portionReplies(client, items.slice(half)))]
  }
}

/** Commands that are always answered with 200. They append something unless the call has that outcome: that answer has no revision. */
const ANSWERED_200: ReadonlySet<string | undefined> = new Set<Command['kind']>(['settle', 'renew', 'resolve'])

function isCreated(command: Command | undefined, is201: boolean, { revision }: JsonObject): boolean {
  return is201 || (ANSWERED_200.has(command?.kind) && typeof revision === 'number')
}

async function replyTo<Body extends JsonObject>(
  command: Command,
  ask: () => Promise<Recorded<Body>>,
): Promise<Reply<Body>> {
  try {
    const { created, body } = await ask()
    return { ok: true, created: isCreated(command, created, body), body }
  } catch (error) {
    if (error instanceof LedgerError && error.status < UNABLE)
      return { ok: false, problem: problemOf(error.problem, error.revision) }
    throw error
  }
}

function itemReply(command: Command | undefined, { status, body, revision }: BatchAnswer): Reply {
  if (status < REFUSED) return { ok: true, created: isCreated(command, status === CREATED, body), body }
  return { ok: false, problem: problemOf(body, revision) }
}

function problemOf(body: JsonObject, revision?: number): Problem {
  const { detail, retryAfterMs } = body
  return {
    code: codeOf(body),
    detail: String(detail ?? 'the ledger refused'),
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    ...(revision !== undefined && { revision }),
    evidence: body,
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

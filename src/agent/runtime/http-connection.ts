/** @module The ledger behind HTTP. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { Client } from '../../client/client.ts'
import { LedgerError } from '../../client/errors.ts'
import { ownProcess } from '../../resources/process-identity.ts'
import { type Connection, ownedBy, type Problem, type Reply, tracedItem } from './connection.ts'
import { traceparentHere } from './execution-context.ts'
import { linkedEvents, sealedEvents, tailedEvent } from './sealed-events.ts'

const CREATED = 201
const REFUSED = 400
/** What one request may hold. */
const BATCH_MAX_ITEMS = 256

export function httpConnection(client: Client, owner = ownProcess()): Connection {
  return {
    place: client.url,
    execute: (runId, command, { idempotencyKey, traceparent = traceparentHere() } = {}) => {
      const key = idempotencyKey === undefined ? {} : { idempotencyKey }
      const trace = traceparent === undefined ? {} : { traceparent }
      return replyTo(() => client.execute(runId, ownedBy(owner, command), { ...key, ...trace }))
    },
    batch: async (runId, commands) => {
      const replies: Reply[] = []
      for (let from = 0; from < commands.length; from += BATCH_MAX_ITEMS) {
        const items = commands
          .slice(from, from + BATCH_MAX_ITEMS)
          .map(({ command, traceparent }) => tracedItem(runId, ownedBy(owner, command), traceparent))
        const answers = await client.batch(items)
        replies.push(...answers.map(({ status, body }) => itemReply(status, body)))
      }
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

async function replyTo(ask: () => Promise<{ created: boolean; body: JsonObject }>): Promise<Reply> {
  try {
    const { created, body } = await ask()
    return { ok: true, created, body }
  } catch (error) {
    // What the server could not do is no refusal: it may do so later.
    if (error instanceof LedgerError && error.status < 500) return { ok: false, problem: problemOf(error.problem) }
    throw error
  }
}

function itemReply(status: number, body: JsonObject): Reply {
  if (status < REFUSED) return { ok: true, created: status === CREATED, body }
  return { ok: false, problem: problemOf(body) }
}

function problemOf(body: JsonObject): Problem {
  const { code, detail, retryAfterMs } = body
  return {
    code: String(code ?? 'refused'),
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

/** @module Selects the run for a request through the gateway: the token's run, a named run, or one run per key and day. */
import { RunId } from '../../../schemas/names.ts'
import type { StartRun } from '../../../schemas/requests.ts'
import { remainingIn } from '../../agent/models/projection.ts'
import type { Connection, Problem } from '../../agent/runtime/connection.ts'
import { LedgerError } from '../../client/errors.ts'
import { jsonDigest } from '../../signing/digests.ts'
import type { KeyHolder } from './gateway-file.ts'

export const RUN_HEADER = 'x-countersign-run'

interface RunOf extends KeyHolder {
  /** The run that the token is bound to. */
  readonly run?: string
}

/** Undefined if the header does not hold a valid run id. */
export function runIdOf(holder: RunOf, named: string | null, nowMs: number): string | undefined {
  if (named !== null) return RunId.safeParse(named).data
  if (holder.run !== undefined) return holder.run
  const { subject, agent = null } = holder
  const key = jsonDigest({ subject, agent }).slice('sha256:'.length).slice(0, KEY_CHARS)
  return `gateway-${key}-${new Date(nowMs).toISOString().slice(0, DATE_CHARS)}`
}

const KEY_CHARS = 12
const DATE_CHARS = 10
/** Maximum number of runs that are cached as existing. */
const KNOWN_MAX = 10_000

export type ReadyRun =
  | { readonly ok: true; readonly limitsCost: boolean }
  | { readonly ok: false; readonly problem: Problem }

interface Readying {
  readonly connection: Connection
  readonly tenant: string
  readonly runId: string
  readonly agent: string | undefined
  readonly budget: StartRun['budget']
}

export class GatewayRuns {
  readonly #known = new Map<string, Promise<ReadyRun>>()

  /** Starts the run if it does not exist. Rejects if the ledger does not answer; the next request tries again. */
  async ready(of: Readying): Promise<ReadyRun> {
    const key = [of.tenant, of.runId, of.agent ?? ''].join(' ')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const ready = readied(of)
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(key, ready)
    try {
      const is = await ready
      if (!is.ok) this.#known.delete(key)
      return is
    } catch (error) {
      this.#known.delete(key)
      throw error
    }
  }
}

async function readied({ connection, runId, agent, budget }: Readying): Promise<ReadyRun> {
  const found = await look(connection, runId)
  if (found !== 'there' && found !== 'not there') return { ok: false, problem: found }
  if (found === 'not there') {
    const body: StartRun = {
      ...{ id: runId, name: 'gateway', tags: ['gateway'], input: { entrance: 'gateway' } },
      ...(budget !== undefined && { budget }),
    }
    const reply = await connection.execute('', { kind: 'start', body }, { idempotencyKey: `gateway-run:${runId}` })
    // Another process has started the run in the meantime; it is used unchanged.
    if (!reply.ok && reply.problem.code !== 'run-exists') return reply
  }
  // Limits of a run never change, so the result can be cached.
  const { nano } = remainingIn(await connection.budget(runId), agent)
  return { ok: true, limitsCost: nano !== undefined }
}

async function look(connection: Connection, runId: string): Promise<'there' | 'not there' | Problem> {
  try {
    await connection.run(runId)
    return 'there'
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error
    const { code, message: detail, problem } = error
    return code === 'run-not-found' ? 'not there' : { code, detail, evidence: problem }
  }
}

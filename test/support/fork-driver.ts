/** @module Short words for a fork of one run. */
import type { JsonObject } from '../../schemas/json.ts'
import type { ReportBranch, StartFork } from '../../schemas/requests.ts'
import type { Outcome, RequestInfo } from '../../src/ledger/ledger.ts'
import { ok, type RunDriver } from './run-driver.ts'

export interface ForkDriver {
  readonly forkId: string
  readonly body: JsonObject
  report(branch: string, more: Partial<ReportBranch>, info?: RequestInfo): Promise<Outcome>
  /** The branch hands this over; it must not be refused by the ledger. */
  offer(branch: string, output: JsonObject, more?: Partial<ReportBranch>): Promise<JsonObject>
  join(info?: RequestInfo): Promise<Outcome>
}

export async function fork(
  run: RunDriver,
  join: StartFork['join'],
  names: readonly string[],
  more: Partial<StartFork> = {},
): Promise<ForkDriver> {
  const branches = names.map((name) => ({ name, agent: name }))
  const body = ok(await run.do({ kind: 'fork', body: { branches, join, agent: 'joiner', ...more } }))
  const forkId = String(body.forkId)
  const report: ForkDriver['report'] = (branch, extra, info) =>
    run.do({ kind: 'branch', forkId, body: { branch, ...extra } }, info)
  return {
    forkId,
    body,
    report,
    offer: async (branch, output, extra = {}) => ok(await report(branch, { output, ...extra })),
    join: (info) => run.do({ kind: 'join', forkId, body: {} }, info),
  }
}

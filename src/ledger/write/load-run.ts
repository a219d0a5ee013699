/** @module Loads a run: the cached fold, if there is an intact one, and the verified tail after it. */
import { finish, Pauses } from '../../domain/paced.ts'
import { settle } from '../../domain/validator/evidence.ts'
import { isOverdue } from '../../domain/validator/grounding/recorded-results.ts'
import { recordDigest } from '../../signing/digests.ts'
import { readOne } from '../../store/event-store.ts'
import { refuseLostEnd } from '../read/lost-end.ts'
import { verifiedEvents } from '../read/verified-events.ts'
import { CACHE_EVERY_EVENTS, type LoadDeps, saveFold, takeFold } from './fold-cache.ts'
import { type Head, RunAggregate } from './run-aggregate.ts'

/** Folds a run from the store and verifies each record that it reads. A run that does not exist has no state. */
export async function loadRun(deps: LoadDeps, tenant: string, runId: string): Promise<RunAggregate> {
  const cached = new RunAggregate(tenant, runId)
  takeFold(deps, cached)
  // A store that was restored from a copy may end before a fold that was cached later.
  const holds = cached.head === undefined || (await holdsHead(deps, cached.stream, cached.head))
  const run = holds ? cached : new RunAggregate(tenant, runId)
  await foldTail(deps, run)
  await refuseLostEnd(deps, run.stream, run.revision)
  if (run.revision - run.cachedRevision >= CACHE_EVERY_EVENTS) saveFold(deps, run)
  return run
}

async function holdsHead({ store }: LoadDeps, stream: string, { revision, digest }: Head): Promise<boolean> {
  const record = await readOne(store, { stream, revision })
  return record !== undefined && recordDigest(record.header) === digest
}

/** Indexes the results as if the run had stayed in memory. */
async function settleResults({ work }: LoadDeps, { tenant, evidence }: RunAggregate): Promise<void> {
  const settling = settle(evidence, new Pauses())
  if (work === undefined) finish(settling)
  else await work.writes.inTurns(settling, { tenant })
}

async function foldTail(deps: LoadDeps, run: RunAggregate): Promise<void> {
  for await (const { event, ringIndex, chars } of verifiedEvents(deps, run.stream, { after: run.head })) {
    const turn = deps.work?.writes.pass(chars, run.tenant)
    if (turn !== undefined) await turn
    run.fold(event)
    if (isOverdue(run.evidence.results)) await settleResults(deps, run)
    const { revision, time } = event.header
    run.head = { revision, digest: event.digest, time, ringIndex }
  }
}

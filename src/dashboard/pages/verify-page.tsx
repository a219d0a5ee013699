/** @module Verification of a run on request: every event is read again, every MAC and link is checked, and the fold is compared with the snapshots. */
import { z } from 'zod'
import type { JsonObject } from '../../../schemas/json.ts'
import { READ_RUNS } from '../../access/access.ts'
import { count, plural } from '../format.ts'
import { orRefused, pageRoute, type View } from '../page.ts'
import { Crumbs } from '../parts/crumbs.tsx'
import { Data } from '../parts/data.tsx'
import { eventPath, runPath } from '../paths.ts'

const Verdict = z.object({
  verdict: z.enum(['VERIFIED', 'TAMPERED', 'INCOMPLETE']),
  events: z.number(),
  snapshots: z.object({ matched: z.number(), mismatched: z.number(), notCompared: z.number() }),
  faults: z.array(
    z.looseObject({
      revision: z.number(),
      snapshot: z.string().optional(),
      faults: z.array(z.object({ code: z.string(), message: z.string() })).optional(),
    }),
  ),
})

type Verdict = z.output<typeof Verdict>

export const verifyPage = pageRoute({
  method: 'post',
  path: '/runs/:run/verify',
  access: READ_RUNS,
  query: z.object({}),
  reads: 'replay',
  handle: async (view) => {
    const verdict = await verdictOf(view)
    Object.assign(view.noted, { verdict: verdict.verdict, count: verdict.events })
    const title = `${view.run} ${verdict.verdict.toLowerCase()}`
    return {
      title,
      nav: 'runs',
      body: <VerdictBody run={view.run} verdict={verdict} at={new Date(view.deps.now()).toISOString()} />,
    }
  },
})

async function verdictOf({ deps, caller, run }: View): Promise<Verdict> {
  let last: JsonObject = {}
  for await (const line of orRefused(await deps.ledger.replay(caller, run)).lines) last = line
  return Verdict.parse(last)
}

const KIND = { VERIFIED: 'good', TAMPERED: 'bad', INCOMPLETE: 'warn' } as const

const MEANING = {
  VERIFIED:
    'Every event is the one that was sealed for its place, and every snapshot matches the state folded from the events.',
  TAMPERED:
    'At least one event is not the one that was sealed for its place, or a snapshot does not match the state folded from the events.',
  INCOMPLETE: 'What there is was reread, and events are missing or lost.',
} as const

function VerdictBody({ run, verdict, at }: { readonly run: string; readonly verdict: Verdict; readonly at: string }) {
  const { events, snapshots, faults } = verdict
  return (
    <>
      <Crumbs run={run} here="Verification" />
      <div class={`notice notice-${KIND[verdict.verdict]} verdict`} role="status">
        <h1>{verdict.verdict}</h1>
        <p>{MEANING[verdict.verdict]}</p>
        <p class="muted">
          {plural(events, 'event')} reread at {at}; {plural(snapshots.matched, 'snapshot')} matched
          {snapshots.mismatched > 0 && `, ${count(snapshots.mismatched)} did not`}
          {snapshots.notCompared > 0 && `, ${count(snapshots.notCompared)} of another version not compared`}.
        </p>
      </div>
      {faults.length > 0 && (
        <section aria-labelledby="faults-title">
          <h2 id="faults-title">What does not fit</h2>
          <ul>
            {faults.map((line) => (
              <li>
                <a href={eventPath(run, line.revision)}>Event {line.revision}</a>:{' '}
                <Data
                  text={
                    line.faults?.map(({ code, message }) => `${code}: ${message}`).join('; ') ??
                    `snapshot ${line.snapshot}`
                  }
                />
              </li>
            ))}
          </ul>
        </section>
      )}
      <p class="muted">
        A chain cannot show that its end was cut off: compare the log's checkpoint with one that you saved. Offline,
        anyone who holds the keys runs <code>countersign verify</code>.
      </p>
      <p>
        <a class="button" href={runPath(run)}>
          Back to the run
        </a>
      </p>
    </>
  )
}

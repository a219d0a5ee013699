/** @module Places that the agents of a run declared as changing, each with its kind, reason and agent; also as members of a policy for download. */
import type { RunAnswer } from '../../../schemas/answers/runs.ts'
import { READ_RUNS } from '../../access/access.ts'
import { adoptedMoves } from '../../domain/validator/declared/adopted.ts'
import { plural } from '../format.ts'
import { PAGE_HEADERS } from '../headers.ts'
import { MomentQuery, runThen } from '../moment.ts'
import { pageRoute, Refused } from '../page.ts'
import { AsItWas } from '../parts/as-it-was.tsx'
import { Crumbs } from '../parts/crumbs.tsx'
import { Data } from '../parts/data.tsx'
import { contextPath, declaredPath, declaredPolicyPath } from '../paths.ts'

export const declaredPage = pageRoute({
  path: '/runs/:run/declared',
  access: READ_RUNS,
  query: MomentQuery,
  handle: async (view) => {
    const { run, moment } = await runThen(view)
    const { declared = [], runId, asOf } = run
    return {
      title: `${runId}: places that move`,
      nav: 'runs',
      body: (
        <>
          <AsItWas run={runId} moment={moment} now={declaredPath(runId)} />
          <Crumbs run={{ runId, asOf }} here="Places that move" />
          <h1>{plural(declared.length, 'place')} that agents declared to move</h1>
          <p class="muted">
            A change there that keeps its kind is explained. A declaration holds to the end of this run, and leaves it
            with the handoff that made it. For all runs it is a policy that says so.
          </p>
          {declared.length > 0 && <Declared runId={runId} asOf={asOf} declared={declared} />}
        </>
      ),
    }
  },
})

/** The output of `countersign policy adopt RUN`. */
export const declaredPolicy = pageRoute({
  path: '/runs/:run/declared/policy.json',
  access: READ_RUNS,
  query: MomentQuery,
  handle: async (view) => {
    const { run } = await runThen(view)
    const moves = adoptedMoves(run.declared ?? [])
    if (moves.length === 0)
      throw new Refused({ code: 'not-found', detail: 'The agents of this run declared no place.' })
    return new Response(`${JSON.stringify({ moves }, null, 2)}\n`, {
      headers: {
        ...PAGE_HEADERS,
        'content-type': 'application/json',
        'content-disposition': `attachment; filename="${run.runId}.policy.json"`,
      },
    })
  },
})

function Declared({
  runId,
  asOf,
  declared,
}: {
  readonly runId: string
  readonly asOf: string | undefined
  readonly declared: NonNullable<RunAnswer['declared']>
}) {
  return (
    <>
      <div class="table-scroll">
        <table class="listed">
          <thead>
            <tr>
              {['Place', 'Moves as', 'By', 'Why', 'Declared by', 'Step'].map((title) => (
                <th scope="col">{title}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {declared.map(({ path, as, by = '', reason, agent, step }) => (
              <tr>
                <th scope="row">
                  <code>
                    <Data text={path} />
                  </code>
                </th>
                <td data-label="Moves as">{as}</td>
                <td {...(by !== '' && { 'data-label': 'By' })}>
                  <Data text={by} />
                </td>
                <td data-label="Why">
                  <Data text={reason} />
                </td>
                <td data-label="Declared by">
                  <Data text={agent} />
                </td>
                <td data-label="Step">
                  <a href={contextPath({ runId, asOf }, step)}>{step}</a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p>
        <a class="button" href={declaredPolicyPath({ runId, asOf })}>
          Take into a policy
        </a>{' '}
        <span class="muted">
          A file for the ledger's policies; <code>countersign policy adopt RUN --into FILE</code> adds them to one.
        </span>
      </p>
    </>
  )
}

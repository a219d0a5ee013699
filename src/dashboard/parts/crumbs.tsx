/** @module The breadcrumb navigation of a run's pages. */

import { type RunPlace, runPath, runsPath } from '../paths.ts'
import { Data } from './data.tsx'

export function Crumbs({ run, here }: { readonly run: RunPlace; readonly here: string }) {
  return (
    <nav class="crumbs" aria-label="You are here">
      <a href={runsPath(run)}>Runs</a> /{' '}
      <a href={runPath(run)}>
        <Data text={typeof run === 'string' ? run : run.runId} />
      </a>{' '}
      / <span aria-current="page">{here}</span>
    </nav>
  )
}

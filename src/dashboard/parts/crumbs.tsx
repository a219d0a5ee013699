/** @module The way back. */

import { RUNS, runPath } from '../paths.ts'
import { Data } from './data.tsx'

export function Crumbs({ run, here }: { readonly run: string; readonly here: string }) {
  return (
    <nav class="crumbs" aria-label="You are here">
      <a href={RUNS}>Runs</a> /{' '}
      <a href={runPath(run)}>
        <Data text={run} />
      </a>{' '}
      / <span aria-current="page">{here}</span>
    </nav>
  )
}

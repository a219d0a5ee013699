/** @module Runs that could not be read for a list: they are named, so that the list is not taken for complete. */
import type { UnreadableRun } from '../../ledger/read/unreadable.ts'
import { plural } from '../format.ts'
import { runPath } from '../paths.ts'
import { Data } from './data.tsx'

export function Unreadable({ runs = [] }: { readonly runs: readonly UnreadableRun[] | undefined }) {
  if (runs.length === 0) return null
  return (
    <div class="notice notice-bad" role="alert">
      <h2>{plural(runs.length, 'run')} cannot be read: what waits there is not in this list</h2>
      <ul>
        {runs.map(({ runId, code, detail }) => (
          <li>
            <a class="strong" href={runPath(runId)}>
              {runId}
            </a>{' '}
            <Data text={`${code}: ${detail}`} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** @module Downloads for a third party that trusts neither this page nor this server. */
import { EXPORT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { Principal } from '../../signing/tokens.ts'
import { bundlePath, downloadPath, withQuery } from '../paths.ts'

export interface HandOverProps {
  readonly run: string
  readonly caller: Principal
}

const FORMATS = [
  ['jsonl', 'JSONL', 'every event as it was signed; countersign verify reads it'],
  ['csv', 'CSV', 'for a spreadsheet; safe to open'],
  ['cloudevents', 'CloudEvents', 'one a line'],
  ['ocsf', 'OCSF', 'for a SIEM'],
  ['otlp', 'OTLP', 'as a trace'],
] as const

export function HandOver({ run, caller }: HandOverProps) {
  const path = `runs/${encodeURIComponent(run)}`
  return (
    <section class="card" aria-labelledby="hand-over-title">
      <h2 id="hand-over-title">Hand it over</h2>
      {mayOpen(EXPORT, caller, run) ? (
        <>
          <p>
            <a class="button primary" href={bundlePath(run)} download>
              Evidence bundle
            </a>
          </p>
          <p class="muted">
            One file that proves itself: its events, checkpoint, keys, a report to read, and verify.mjs, which checks it
            with Node alone.
          </p>
          <h3>Exports</h3>
          <p class="muted">
            Each export is recorded with the name of who took it. A cut one says so when it is verified.
          </p>
          <ul class="formats">
            {FORMATS.map(([format, label, what]) => (
              <li>
                <a class="strong" href={downloadPath(withQuery(`${path}/export`, { format }))} download>
                  {label}
                </a>{' '}
                <span class="muted">{what}</span>
              </li>
            ))}
          </ul>
          <p class="muted">
            Check it on another machine: <code>countersign verify {run}.jsonl</code>
          </p>
        </>
      ) : (
        <p>Exports need a token with the scope audit:export.</p>
      )}
    </section>
  )
}

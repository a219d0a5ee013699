/** @module Findings of a handoff: each with the established and the new value, the origin of the first, and what would permit the change. */
import type { Finding } from '../../../schemas/finding.ts'
import type { Json } from '../../../schemas/json.ts'
import type { Provenance } from '../diff/provenance.ts'
import { count, plural } from '../format.ts'
import { eventPath, type RunPlace } from '../paths.ts'
import type { RefusedHandoff } from '../refused-handoff.ts'
import { clipped } from '../visible.ts'
import { Data } from './data.tsx'

const BADGES = { error: 'bad', warning: 'warn', info: 'open' } as const

export function Findings({ found }: { readonly found: RefusedHandoff }) {
  const { findings, findingsTotal } = found.envelope
  return (
    <section aria-labelledby="findings-title">
      <h2 id="findings-title">On what evidence</h2>
      <ol class="findings">
        {findings.map((finding) => (
          <Item run={found.run} finding={finding} provenance={found.provenance?.of(finding.of ?? finding.path)} />
        ))}
      </ol>
      {findingsTotal > findings.length && (
        <p class="notice">
          {count(findingsTotal)} findings were made; the first {plural(findings.length, 'one')} are recorded.
        </p>
      )}
      {found.provenance === undefined && (
        <p class="muted">
          The run is too long to look up here where each value comes from: use the export or GET /v1/audit.
        </p>
      )}
    </section>
  )
}

/** Findings of an accepted handoff: warnings, and permitted changes with their reasons. */
export function Remarks({ run, findings }: { readonly run: RunPlace; readonly findings: readonly Finding[] }) {
  if (findings.length === 0) return null
  return (
    <section aria-labelledby="remarks-title">
      <h2 id="remarks-title">What the validator remarked</h2>
      <ol class="findings">
        {findings.map((finding) => (
          <Item run={run} finding={finding} provenance={undefined} />
        ))}
      </ol>
    </section>
  )
}

interface ItemProps {
  readonly run: RunPlace
  readonly finding: Finding
  readonly provenance: Provenance | undefined
}

/** One finding as a list item. */
export function Item({ run, finding, provenance }: ItemProps) {
  const { rule, severity, path, inHandoff, message, before, after, source, supersede, declare } = finding
  return (
    <li class={`card finding finding-${severity}`}>
      <p class="finding-head">
        <span class={`badge badge-${BADGES[severity]}`}>{rule}</span>
        <code>
          <Data text={path === '' ? '(the whole context)' : path} />
        </code>
      </p>
      <p>
        <Data text={message} />
        {source !== undefined && (
          <>
            {' '}
            (<a href={eventPath(run, source.revision)}>event {source.revision}</a>)
          </>
        )}
      </p>
      <dl class="members">
        {before !== undefined && <Value label="before" value={before} />}
        {after !== undefined && <Value label="handed over" value={after} />}
        {inHandoff !== undefined && (
          <>
            <dt>in the handoff</dt>
            <dd class="mono">
              <Data text={inHandoff} />
            </dd>
          </>
        )}
        <Established run={run} finding={finding} provenance={provenance} />
        {supersede !== undefined && (
          <>
            <dt>to change it</dt>
            <dd class="mono">
              <Data text={`"supersedes": ${JSON.stringify([{ ...supersede, reason: 'why' }])}`} />
            </dd>
          </>
        )}
        {declare !== undefined && (
          <>
            <dt>if it is the agent's own bookkeeping</dt>
            <dd class="mono">
              <Data text={`"moves": ${JSON.stringify([{ ...declare, reason: 'why' }])}`} />
            </dd>
          </>
        )}
        {provenance !== undefined && provenance.sources.length > 0 && (
          <>
            <dt>recorded in</dt>
            <dd>
              {provenance.sources.map(({ revision, what }, index) => (
                <>
                  {index > 0 && ', '}
                  {what === 'input' ? 'the input of the run' : 'the output of '}
                  {what !== 'input' && <Data text={what} />} (<a href={eventPath(run, revision)}>event {revision}</a>)
                </>
              ))}
            </dd>
          </>
        )}
      </dl>
    </li>
  )
}

function Established({ run, finding, provenance }: ItemProps) {
  const known = finding.established ?? provenance?.established
  if (known === undefined) return null
  const agent = provenance?.established?.agent
  return (
    <>
      <dt>established</dt>
      <dd>
        in <a href={eventPath(run, known.revision)}>step {known.step}</a>
        {agent !== undefined && (
          <>
            {' '}
            by <Data text={agent} />
          </>
        )}
        {finding.of !== undefined && (
          <>
            , at <Data text={finding.of} />
          </>
        )}
      </dd>
    </>
  )
}

const VALUE_CHARS = 400

function Value({ label, value }: { readonly label: string; readonly value: Json }) {
  return (
    <>
      <dt>{label}</dt>
      <dd class="mono">
        <Data text={clipped(typeof value === 'string' ? value : JSON.stringify(value), VALUE_CHARS)} />
      </dd>
    </>
  )
}

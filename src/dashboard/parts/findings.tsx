/** @module Why a handoff was refused: each finding with the value that stood, the one that came, and where the first came from. */
import type { Finding } from '../../../schemas/finding.ts'
import type { Json } from '../../../schemas/json.ts'
import type { Provenance } from '../diff/provenance.ts'
import { count, plural } from '../format.ts'
import { eventPath } from '../paths.ts'
import type { RefusedHandoff } from '../refused-handoff.ts'
import { clipped } from '../visible.ts'
import { Data } from './data.tsx'

export function Findings({ found }: { readonly found: RefusedHandoff }) {
  const { findings, findingsTotal } = found.envelope
  return (
    <section aria-labelledby="findings-title">
      <h2 id="findings-title">On what evidence</h2>
      <ol class="findings">
        {findings.map((finding) => (
          <Item run={found.run.runId} finding={finding} provenance={found.provenance?.of(finding.path)} />
        ))}
      </ol>
      {findingsTotal > findings.length && (
        <p class="notice">
          {count(findingsTotal)} findings were made; the first {plural(findings.length, 'one')} are on record.
        </p>
      )}
      {found.provenance === undefined && (
        <p class="muted">
          The run is too long to look here for where each value came from: ask GET /v1/audit or the export.
        </p>
      )}
    </section>
  )
}

interface ItemProps {
  readonly run: string
  readonly finding: Finding
  readonly provenance: Provenance | undefined
}

function Item({ run, finding, provenance }: ItemProps) {
  const { rule, severity, path, message, before, after, source } = finding
  return (
    <li class={`card finding finding-${severity}`}>
      <p class="finding-head">
        <span class={`badge badge-${severity === 'error' ? 'bad' : 'warn'}`}>{rule}</span>
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
        {before !== undefined && <Value label="stood" value={before} />}
        {after !== undefined && <Value label="came" value={after} />}
        {provenance?.established !== undefined && (
          <>
            <dt>established</dt>
            <dd>
              in <a href={eventPath(run, provenance.established.revision)}>step {provenance.established.step}</a> by{' '}
              <Data text={provenance.established.agent} />
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

/** @module The card about alterations: recorded faults, the last whole scrub, and the signatures of the log. */

import type { IntegrityState } from '../../ledger/integrity/integrity.ts'
import type { LogState } from '../../ledger/log/tenant-logs.ts'
import { parseCheckpoint } from '../../merkle/checkpoint.ts'
import { parseNote } from '../../merkle/signed-note.ts'
import { count, plural } from '../format.ts'
import { LOG } from '../paths.ts'
import { Badge, Data, Time } from './data.tsx'
import { NothingBroken } from './integrity.tsx'
import { QuestionCard } from './question-card.tsx'

export interface AlteredCardProps {
  readonly integrity: IntegrityState
  readonly log: LogState | undefined
  /** Note of the last checkpoint. */
  readonly note: string | undefined
}

export function AlteredCard({ integrity: { faults, scrub }, log, note }: AlteredCardProps) {
  const present = faults.filter(({ pastSince }) => pastSince === undefined).length
  const broken = present > 0 || log?.stopped !== undefined
  return (
    <QuestionCard
      title="Was anything altered?"
      all={{ href: `${LOG}#integrity`, text: 'The log, and what was checked' }}
    >
      <p>
        {broken ? (
          <>
            <Badge kind="bad" text="yes" />{' '}
            {present > 0 ? `${plural(present, 'event')} recorded as broken` : `The log stopped: ${log?.stopped}`}
          </>
        ) : (
          <NothingBroken scrub={scrub} past={faults.length} />
        )}
      </p>
      <dl class="members">
        <dt>Last whole reading</dt>
        <dd>
          {scrub.lastPass === undefined ? (
            <span class="muted">{scrub.days === 0 ? 'the scrub is off' : 'none yet'}</span>
          ) : (
            <>
              <Time time={scrub.lastPass.endedAt} />, {count(scrub.lastPass.leaves)} events
            </>
          )}
        </dd>
        <Signed log={log} note={note} />
      </dl>
    </QuestionCard>
  )
}

function Signed({ log, note }: Pick<AlteredCardProps, 'log' | 'note'>) {
  if (log === undefined)
    return (
      <>
        <dt>Log</dt>
        <dd class="muted">this ledger keeps none</dd>
      </>
    )
  const signed = note === undefined ? undefined : parseNote(note)
  const checkpoint = signed === undefined ? undefined : parseCheckpoint(signed.text)
  return (
    <>
      <dt>Last checkpoint</dt>
      <dd>
        {checkpoint === undefined ? (
          <span class="muted">none yet</span>
        ) : (
          `${count(log.published)} of ${plural(log.size, 'event')}`
        )}
      </dd>
      <dt>Signed by</dt>
      <dd>{signed === undefined ? <span class="muted">nobody</span> : plural(signed.signatures.length, 'key')}</dd>
      <dt>Witnesses</dt>
      <dd>
        {log.witnesses.length === 0 ? (
          <span class="muted">none has cosigned since the start of this process</span>
        ) : (
          log.witnesses.map(({ name, size }) => (
            <span class="sub">
              <Data text={name} /> at {count(size)}
            </span>
          ))
        )}
      </dd>
    </>
  )
}

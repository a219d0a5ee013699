/** @module The form for a checkpoint that was kept elsewhere, and what holding it against the log showed. */
import type { KeptVerdict } from '../kept-checkpoint.ts'
import { CHECK_CHECKPOINT } from '../paths.ts'
import { Data } from './data.tsx'

const KINDS = { same: 'good', altered: 'bad', unknown: 'warn' } as const
const HEADS = {
  same: 'The log is the one that was signed then',
  altered: 'The log is not the one that was signed then',
  unknown: 'This says nothing about the log',
} as const

interface KeptCheckpointProps {
  readonly csrf: string
  readonly pasted: string
  readonly verdict: KeptVerdict | undefined
}

export function KeptCheckpoint({ csrf, pasted, verdict }: KeptCheckpointProps) {
  return (
    <section class="card" aria-labelledby="kept-title" id="kept">
      <h2 id="kept-title">A checkpoint that you kept</h2>
      {verdict !== undefined && (
        <div class={`notice notice-${KINDS[verdict.verdict]}`} role="status">
          <p>
            <strong>{HEADS[verdict.verdict]}.</strong> <Data text={verdict.text} />
          </p>
        </div>
      )}
      <form method="post" action={CHECK_CHECKPOINT}>
        <input type="hidden" name="csrf" value={csrf} />
        <label for="kept-note">
          Paste it, with its signature lines, or the time-stamp that you kept: the ledger holds it against its log
        </label>
        <textarea id="kept-note" name="note" rows={6} maxlength={30_000} required spellcheck={false} class="mono">
          {pasted}
        </textarea>
        <button type="submit" class="button">
          Check it
        </button>
      </form>
      <p class="muted">
        The ledger answers for itself here. Whoever does not trust it runs{' '}
        <code>countersign verify --checkpoint FILE</code> over the store or a bundle.
      </p>
    </section>
  )
}

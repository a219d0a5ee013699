/** @module The checks of an event that a browser can make on its own, and downloads. `assets/proof.ts` makes the checks. */
import { READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { Principal } from '../../signing/tokens.ts'
import { downloadPath, evidencePath } from '../paths.ts'
import { Data } from './data.tsx'

export interface ProofPanelProps {
  readonly run: string
  readonly revision: number
  readonly eventId: string
  readonly verifierKey: string | undefined
  readonly caller: Principal
  /** Id of the key that sealed the event. */
  readonly kid: string
  /** Faults that the ledger itself found in the event's seal; empty if there are none. */
  readonly faults: readonly { readonly code: string; readonly message: string }[]
}

const CHECKS = [
  ['body', 'Body'],
  ['link', 'Chain'],
  ['inclusion', 'In the log'],
  ['signature', 'Checkpoint'],
] as const

export function ProofPanel({ run, revision, eventId, verifierKey, caller, faults, kid }: ProofPanelProps) {
  const auditor = mayOpen(READ_TENANT, caller)
  return (
    <section class="card proof" data-evidence={evidencePath(run, revision)} aria-labelledby="proof-title">
      <div class="proof-head">
        <h2 id="proof-title">Proof</h2>
        <p class="proof-verdict" role="status">
          Not checked in this browser yet
        </p>
      </div>
      <ol class="checks">
        <li data-verdict={faults.length === 0 ? 'good' : 'bad'}>
          <span class="mark-sign" aria-hidden="true">
            {faults.length === 0 ? '\u2713' : '\u2717'}
          </span>
          <span>
            <strong>Seal.</strong> <span class="by">by the ledger</span> <SealVerdict faults={faults} kid={kid} />
          </span>
        </li>
        {CHECKS.map(([name, label]) => (
          <li data-check={name} data-verdict="open">
            <span class="mark-sign" aria-hidden="true">
              {'\u2013'}
            </span>
            <span>
              <strong>{label}.</strong> <span class="by">by this browser</span>{' '}
              <span class="words">Checked by a script of this page.</span>
            </span>
          </li>
        ))}
      </ol>
      {verifierKey !== undefined && auditor && (
        <div class="key-field">
          <label for="verifier-key">Verifier key (replace it by your own copy, and check again)</label>
          <div class="row">
            <textarea id="verifier-key" rows={2} spellcheck={false} autocomplete="off" class="mono">
              {verifierKey}
            </textarea>
            <button type="button">Check again</button>
          </div>
        </div>
      )}
      {!auditor && <p class="muted">Proofs of the log need a token with audit:read.</p>}
      <div class="deeds">
        {auditor && (
          <a class="button" href={downloadPath(`log/events/${eventId}/proof.tlog-proof`)} download>
            Proof file
          </a>
        )}
        {auditor && (
          <a class="button" href={downloadPath('log/checkpoint')} download="checkpoint.txt">
            Checkpoint
          </a>
        )}
      </div>
    </section>
  )
}

function SealVerdict({ faults, kid }: Pick<ProofPanelProps, 'faults' | 'kid'>) {
  if (faults.length === 0) {
    return (
      <>
        For this page it computed again the mac of the header under its key <code>{kid}</code>, the digest of salt and
        body, the place and the link to the event before: all fit. A browser has no such key and cannot check the mac.
      </>
    )
  }
  return (
    <>
      {faults.map(({ code, message }) => (
        <>
          {code}: <Data text={message} />.{' '}
        </>
      ))}
    </>
  )
}

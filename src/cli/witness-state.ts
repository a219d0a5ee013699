/** @module The state of a witness: its key, and the last checkpoint of each log. It must never cosign with only one of them. */

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../schemas/json.ts'

import { fromBase64, toBase64 } from '../merkle/base64.ts'
import { judgeSuccessions, keyChains } from '../merkle/followed-keys.ts'
import { HASH_BYTES } from '../merkle/hashes.ts'
import { cosigner, type NoteVerifier } from '../merkle/note-key.ts'
import { signText } from '../merkle/signed-note.ts'
import { type Evidence, judgeAddCheckpoint, type Witnessed } from '../merkle/witness.ts'
import { linkNewFile, replaceFile } from '../signing/durable-file.ts'
import { CliFailure, EXIT } from './failure.ts'
import { successionsIn } from './successions.ts'
import { fileEvidence } from './witness-evidence.ts'

const KEY_FILE = 'witness-key.pem'
const STATE_FILE = 'witness-state.json'
/** If this file is lost, the logs will post its content again. */
const SUCCESSIONS_FILE = 'witness-successions.json'
const MS_PER_SECOND = 1_000

const State = z.strictObject({
  v: z.literal(1),
  logs: z.record(z.string(), z.strictObject({ size: z.int().min(0), root: z.string(), note: z.string().optional() })),
})

interface WitnessAnswer {
  readonly status: number
  readonly body: string
  readonly contentType?: string
}

export interface Witness {
  readonly verifierKey: string
  /** Answers one request. A cosigned checkpoint is durable before this returns; it is synchronous, so requests cannot overlap. */
  readonly add: (request: string) => WitnessAnswer
  /** Answers one request to follow the successions of a log's key. Accepted successions are durable before this returns. */
  readonly follow: (request: string) => WitnessAnswer
}

export interface WitnessOptions {
  readonly folder: string
  readonly name: string
  readonly verifiers: readonly NoteVerifier[]
  readonly nowMs?: () => number
  /** Called once for each new file of evidence. */
  readonly onEvidence?: (path: string) => void
}

/** Opens or creates a witness. Throws `CliFailure` if its key exists and its state is missing: it could be made to cosign a fork. */
export function openWitness({ folder, name, verifiers, nowMs = Date.now, onEvidence }: WitnessOptions): Witness {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const [keyPath, statePath] = [join(folder, KEY_FILE), join(folder, STATE_FILE)]
  const key = openKey(keyPath, statePath)
  const witnessed = readState(statePath)
  const successionsPath = join(folder, SUCCESSIONS_FILE)
  let kept = existsSync(successionsPath) ? successionsIn(successionsPath) : []
  let logs = keyChains(verifiers, kept)
  const signer = cosigner(name, key, () => Math.floor(nowMs() / MS_PER_SECOND))

  const file = (evidence: Evidence | undefined): void => {
    const filed = evidence && fileEvidence(folder, evidence)
    if (filed !== undefined) onEvidence?.(filed)
  }
  return {
    verifierKey: signer.verifier.text,
    follow: (request) => {
      const verdict = judgeSuccessions(parseJsonOrUndefined(request), { verifiers, kept })
      if (verdict.status !== 200) {
        const { twoSuccessors } = verdict
        file(twoSuccessors && { ...twoSuccessors, kind: 'two-successors', proof: [] })
        return verdict
      }
      replaceFile(successionsPath, `${JSON.stringify(verdict.kept, null, 2)}\n`)
      kept = verdict.kept
      logs = keyChains(verifiers, kept)
      return { status: 200, body: `${kept.length} successions are followed\n` }
    },
    add: (request) => {
      const verdict = judgeAddCheckpoint(request, { logs, witnessed })
      if (verdict.status !== 200) {
        file(verdict.evidence)
        return verdict
      }
      const { note, checkpoint } = verdict
      const { origin, size, root } = checkpoint
      const last = { size, root, note }
      writeState(statePath, new Map([...witnessed, [origin, last]]))
      witnessed.set(origin, last)
      return { status: 200, body: signText(verdict.text, signer) }
    },
  }
}

function openKey(keyPath: string, statePath: string): KeyObject {
  if (existsSync(keyPath) && existsSync(statePath)) return createPrivateKey(readFileSync(keyPath, 'utf8'))
  if (existsSync(keyPath)) {
    const message = `${statePath} is gone: this key may have cosigned what it does not know of. Restore the file, or found a new witness elsewhere`
    throw new CliFailure(message, EXIT.failed)
  }
  // The state is written first: a crash in between leaves a witness that never cosigned.
  writeState(statePath, new Map())
  const { privateKey } = generateKeyPairSync('ed25519')
  linkNewFile(keyPath, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
  return privateKey
}

function readState(path: string): Map<string, Witnessed> {
  const state = State.safeParse(parseJsonOrUndefined(readFileSync(path, 'utf8')))
  const entries = Object.entries(state.data?.logs ?? {}).map(([origin, { root, note, ...rest }]) => {
    const known = { ...rest, root: fromBase64(root) ?? new Uint8Array(0), ...(note !== undefined && { note }) }
    return [origin, known] as const
  })
  if (state.success && entries.every(([, { root }]) => root.length === HASH_BYTES)) return new Map(entries)
  throw new CliFailure(`${path} is damaged: restore it, or found a new witness elsewhere`, EXIT.failed)
}

function writeState(path: string, witnessed: ReadonlyMap<string, Witnessed>): void {
  const logs = Object.fromEntries(
    [...witnessed].map(([origin, { root, ...rest }]) => [origin, { ...rest, root: toBase64(root) }]),
  )
  replaceFile(path, `${JSON.stringify({ v: 1, logs }, null, 2)}\n`)
}

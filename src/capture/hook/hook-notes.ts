/**
 * @module Notes of one hook for the next: files in the user's own folder, with ids, digests and times but no arguments or answers. If they are lost, the ledger
 * still knows the calls; the readers of each kind of note document what else is lost.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { jsonDigest } from '../../signing/digests.ts'

/**
 * `call`: a claim, by the host's identity of the call. `approval`: the key of a call that waits for an approval, by tool and arguments. `kept-back`: a possibly
 * recorded claim of a call that was denied. `passed`: a call that was let through.
 */
export type NoteKind = 'call' | 'approval' | 'kept-back' | 'passed'

const OWNER_ONLY = 0o700
const PRIVATE = 0o600

export class HookNotes {
  readonly #folder: string

  /** `folder`: used by this session only. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Returns false if the note cannot be written; the consequence depends on the kind. */
  write(kind: NoteKind, name: string, note: JsonObject): boolean {
    try {
      mkdirSync(join(this.#folder, kind), { recursive: true, mode: OWNER_ONLY })
      const path = this.#path(kind, name)
      // Written atomically, because other processes may read at the same time.
      const draft = `${path}.${process.pid}`
      writeFileSync(draft, JSON.stringify(note), { mode: PRIVATE })
      renameSync(draft, path)
      return true
    } catch {
      return false
    }
  }

  read(kind: NoteKind, name: string): JsonObject | undefined {
    return readNote(this.#path(kind, name))
  }

  remove(kind: NoteKind, name: string): void {
    rmSync(this.#path(kind, name), { force: true })
  }

  all(kind: NoteKind): readonly JsonObject[] {
    return notesIn(join(this.#folder, kind))
  }

  /** Takes all notes of a kind together, under one id. After a crash, taking them again returns the same notes with the same id, until `done` is called. */
  taken(
    kind: NoteKind,
  ): readonly { readonly id: string; readonly notes: readonly JsonObject[]; readonly done: () => void }[] {
    const id = `${kind}-taken-${Date.now()}-${process.pid}`
    try {
      renameSync(join(this.#folder, kind), join(this.#folder, id))
    } catch {
      // There are no notes, or another hook took them.
    }
    return names(this.#folder)
      .filter((name) => name.startsWith(`${kind}-taken-`))
      .map((name) => {
        const folder = join(this.#folder, name)
        return { id: name, notes: notesIn(folder), done: () => rmSync(folder, { recursive: true, force: true }) }
      })
  }

  /** Removes all notes at the end of the session. */
  forget(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #path(kind: NoteKind, name: string): string {
    return join(this.#folder, kind, `${jsonDigest(name).slice('sha256:'.length)}.json`)
  }
}

function notesIn(folder: string): readonly JsonObject[] {
  return names(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readNote(join(folder, name)))
    .filter((note) => note !== undefined)
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readNote(path: string): JsonObject | undefined {
  try {
    const note = parseJsonOrUndefined(readFileSync(path, 'utf8'))
    return isJsonObject(note) ? note : undefined
  } catch {
    return undefined
  }
}

/**
 * @module What one hook leaves for the next: files in the user's own folder. They hold ids, digests and times, no arguments and no answers. Where they are lost,
 * the ledger still says which calls there are; what goes with them is said where they are read.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { jsonDigest } from '../../signing/digests.ts'

/** `call`: a claim, by the host's identity of the call. `approval`: the key that waits for one, by what the call does. `kept-back`: a claim that may be on record, of a call that was denied. `passed`: a call that was let through. */
export type NoteKind = 'call' | 'approval' | 'kept-back' | 'passed'

const OWNER_ONLY = 0o700
const PRIVATE = 0o600

export class HookNotes {
  readonly #folder: string

  /** `folder`: of this session alone. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** False where it cannot be written: what that costs depends on the kind. */
  write(kind: NoteKind, name: string, note: JsonObject): boolean {
    try {
      mkdirSync(join(this.#folder, kind), { recursive: true, mode: OWNER_ONLY })
      const path = this.#path(kind, name)
      // In one piece, or not at all, whoever reads meanwhile.
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

  /**
   * The notes of a kind are taken for one purpose, and come together under one id: whoever takes them again, after a crash, takes the same. `done` ends that.
   */
  taken(
    kind: NoteKind,
  ): readonly { readonly id: string; readonly notes: readonly JsonObject[]; readonly done: () => void }[] {
    const id = `${kind}-taken-${Date.now()}-${process.pid}`
    try {
      renameSync(join(this.#folder, kind), join(this.#folder, id))
    } catch {
      // There are none, or another hook was faster.
    }
    return names(this.#folder)
      .filter((name) => name.startsWith(`${kind}-taken-`))
      .map((name) => {
        const folder = join(this.#folder, name)
        return { id: name, notes: notesIn(folder), done: () => rmSync(folder, { recursive: true, force: true }) }
      })
  }

  /** The session is over. */
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

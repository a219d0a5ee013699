/** @module Data subjects and legal holds as callers of the ledger see them. */
import type { HoldAnswer, HoldsAnswer } from '../../../schemas/answers/holds.ts'
import type { ErasureAnswer, SubjectAnswer } from '../../../schemas/answers/subjects.ts'
import type { EraseSubject } from '../../../schemas/erasure.ts'
import type { PlaceHold, ReleaseHold } from '../../../schemas/hold.ts'
import type { Caller } from '../../access/caller.ts'
import type { Refusal } from '../../domain/refusal.ts'

export type Answered<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal }

export interface Subjects {
  /** The places where values of a subject are kept encrypted. */
  places(caller: Caller, subject: string): Promise<Answered<SubjectAnswer>>
  /** Resolves once the keys are destroyed and that is recorded, or, if open runs have to end first, once the request is recorded. */
  erase(caller: Caller, subject: string, asked: EraseSubject): Promise<Answered<ErasureAnswer>>
}

export interface Holds {
  /** Resolves once the hold is recorded: no erasure of what it covers begins, or goes on, after that. */
  place(caller: Caller, asked: PlaceHold): Promise<Answered<HoldAnswer>>
  /** Resolves once the release is recorded. Repeated it answers the same. */
  release(caller: Caller, hold: string, asked: ReleaseHold): Promise<Answered<HoldAnswer>>
  list(caller: Caller): Promise<Answered<HoldsAnswer>>
}

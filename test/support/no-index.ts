/** @module For threads that read and are asked nothing of the auditors' index. */
import type { IndexOwner } from '../../src/store/sqlite/audit-snapshots.ts'

export const NO_INDEX: IndexOwner = {
  vouch: async () => undefined,
  opening: async () => undefined,
  opened: async () => undefined,
}

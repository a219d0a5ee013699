/** @module A setting that cannot be used. */

/** A setting that cannot be used: `message` names where it came from and what it takes. */
export class SettingsError extends Error {
  readonly code = 'settings-invalid'

  constructor(message: string) {
    super(message)
    this.name = 'SettingsError'
  }
}

/** @module The error for a setting that cannot be used. */

/** A setting that cannot be used: `message` names the flag or variable and the accepted values. */
export class SettingsError extends Error {
  readonly code = 'settings-invalid'

  constructor(message: string) {
    super(message)
    this.name = 'SettingsError'
  }
}

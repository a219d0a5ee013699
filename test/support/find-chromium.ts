/** @module The system's own browser, where there is one: none is downloaded. */
import { findProgram } from './find-program.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

export const findChromium = (path?: string): string | undefined => findProgram(NAMES, path)

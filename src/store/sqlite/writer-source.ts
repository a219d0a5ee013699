/**
 * @module The program of the writer thread as CommonJS text, without `better-sqlite3`. The build fills it in after compilation. A program into which a
 * bundler has put this package has no separate file for the thread, and starts it from this text.
 */
export const WRITER_SOURCE: string = ''

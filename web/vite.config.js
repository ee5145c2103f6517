import { defineConfig } from 'vite';

// Names without hashes: the files are embedded in the program, which lists them when it is configured.
export default defineConfig({
  build: {
    target: 'es2021',
    modulePreload: false,
    chunkSizeWarningLimit: 2000,
    rollupOptions: {
      output: {
        entryFileNames: 'assets/page.js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: 'assets/[name][extname]',
      },
    },
  },
});

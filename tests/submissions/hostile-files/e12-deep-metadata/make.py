def make(folder, notebook):
    deep = '{"a":' * 3000 + "1" + "}" * 3000
    (folder / "base.ipynb").write_text('{"metadata": %s, "cells": [], "nbformat": 4, "nbformat_minor": 5}' % deep)

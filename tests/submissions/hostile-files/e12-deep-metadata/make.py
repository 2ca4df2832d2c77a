def make(folder, notebook):
    deep = '{"a":' * 3000 + "1" + "}" * 3000
    (folder / "base.ipynb").write_text('{"metadata": ' + deep + ', "cells": [], "nbformat": 4, "nbformat_minor": 5}')
